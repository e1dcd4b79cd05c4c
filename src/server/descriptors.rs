//! How many descriptors the system gives, and so how many connections there can be.

/// Descriptors that are kept for all but connections: the store, logs, the program itself.
const RESERVED: usize = 256;

/// Raises the process's limit of open files as far as may be, and gives how many of so many connections fit into it.
pub fn fit(connections: usize) -> usize {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => {
            let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(RESERVED).max(1);
            if room < connections {
                tracing::info!(
                    limit,
                    connections = room,
                    "fewer connections than server.max_connections fit into the limit of open files"
                );
            }
            connections.min(room)
        }
        Err(error) => {
            tracing::warn!(%error, "the limit of open files is not known");
            connections
        }
    }
}
