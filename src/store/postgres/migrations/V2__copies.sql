-- Where the sessions were copied from, if they were, and whether all of them have been.
CREATE TABLE copied (
    id     BIGINT PRIMARY KEY CHECK (id = 1),
    source TEXT    NOT NULL,
    whole  BOOLEAN NOT NULL
);
