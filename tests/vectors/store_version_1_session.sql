-- What the first version of the schema kept of one session of Goré, four events.
BEGIN TRANSACTION;
INSERT INTO sessions VALUES(1,'game-1','gore',0,1767225600000000,1767225603000000,4,'{}','{"options":{},"guards":{"repetition":3,"quiet":200,"max_plies":2000},"position":"gore 2,1,9,9/1,9,9,8 0-0 N sow","ply":3,"round":1}');
INSERT INTO events VALUES(1,1,1,1767225600000000,1,'make-1',X'67d5e8f0694f84732430f6dc0888d674057b7a5799a217c0634337657774e159','{"type":"created","game":"gore","options":{},"guards":{"repetition":3,"quiet":200,"max_plies":2000},"position":"gore 6,6,6,6/6,6,6,6 0-0 S sow","labels":{}}');
INSERT INTO events VALUES(2,1,2,1767225601000000,1,'first',X'1a69d0803dab45e69838830d8acc1ff7769643676f43b255310fad2e4d0eaa5a','{"type":"move_played","seat":"S","move":"0","position":"gore 0,7,7,7/7,7,7,6 0-0 N sow","captured":0}');
INSERT INTO events VALUES(3,1,3,1767225602000000,1,NULL,NULL,'{"type":"move_played","seat":"N","move":"4","position":"gore 1,8,8,8/0,8,8,7 0-0 S sow","captured":0}');
INSERT INTO events VALUES(4,1,4,1767225603000000,1,'third',X'2b7d76ddf1e4934cb4e3f4fb0b41e5b5f96a022656256b000327fa054708e787','{"type":"move_played","seat":"S","move":"1","position":"gore 2,1,9,9/1,9,9,8 0-0 N sow","captured":0}');
INSERT INTO creations VALUES('make-1',X'67d5e8f0694f84732430f6dc0888d674057b7a5799a217c0634337657774e159','game-1');
COMMIT;
