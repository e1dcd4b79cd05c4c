//! What the system says of this process.

use super::metrics::Metrics;

/// Shows time on the processors, memory, file descriptors and threads. Where they can't be read they are no numbers.
#[cfg(target_os = "linux")]
pub fn register(metrics: &mut Metrics) {
    use procfs::process::{LimitValue, Process, Stat};

    fn read(number: impl Fn(Process) -> procfs::ProcResult<f64>) -> f64 {
        Process::myself().and_then(number).unwrap_or(f64::NAN)
    }
    fn of_stat(number: impl Fn(Stat) -> f64) -> f64 {
        read(|process| process.stat().map(&number))
    }

    metrics.counter("process_cpu_seconds", "Time on the processors", || {
        of_stat(|stat| (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
    });
    metrics.gauge("process_resident_memory_bytes", "Memory in use", || of_stat(|stat| (stat.rss * procfs::page_size()) as f64));
    metrics.gauge("process_threads", "Threads", || of_stat(|stat| stat.num_threads as f64));
    metrics.gauge("process_open_fds", "Open file descriptors", || read(|process| process.fd_count().map(|fds| fds as f64)));
    metrics.gauge("process_max_fds", "File descriptors that may be open", || {
        read(|process| {
            process.limits().map(|limits| match limits.max_open_files.soft_limit {
                LimitValue::Value(most) => most as f64,
                LimitValue::Unlimited => f64::INFINITY,
            })
        })
    });
}

/// Nothing, on other systems.
#[cfg(not(target_os = "linux"))]
pub fn register(_: &mut Metrics) {}
