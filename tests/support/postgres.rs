//! Private Postgres clusters for tests: in a folder of their own, reachable through a socket there and a port of this machine.
//!
//! A cluster runs as an ordinary user, since Postgres refuses to run as root. It ends when it is dropped, and in any case when the
//! test program does, in whatever way: a shell waits for the end of the pipe that the program holds.

// Each test binary uses a part of it.
#![allow(dead_code)]

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The superuser of every cluster, who needs no password.
pub const USER: &str = "mancala";

/// What a server must have to be quick and small; durability is left as it is in earnest.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
shared_buffers = 16MB
max_connections = 200
dynamic_shared_memory_type = mmap
max_wal_size = 256MB
autovacuum_naptime = 60
log_min_messages = warning
wal_level = replica
max_wal_senders = 4
wal_keep_size = 64MB
hot_standby = on
";

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Connections are ended, what is written is kept in order.
    Fast,
    /// As if the power had gone: it recovers from its log at the next start.
    Immediate,
}

/// A cluster with its server.
pub struct Cluster {
    folder: PathBuf,
    port: u16,
    server: Mutex<Option<Child>>,
    /// Ends the server and removes the folder when this end of its pipe is closed.
    guard: Child,
}

impl Cluster {
    /// The cluster that all tests of this program share; each makes a [database](Cluster::database) of its own there.
    pub fn shared() -> &'static Cluster {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Cluster::start(""))
    }

    /// Makes a cluster and starts its server, with these lines of `postgresql.conf` beside the usual ones.
    pub fn start(settings: &str) -> Cluster {
        let cluster = Cluster::empty();
        cluster.run("initdb", &["-D", &cluster.data(), "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync"]);
        let socket = format!("unix_socket_directories = '{}'", cluster.folder.display());
        cluster.append("postgresql.conf", &format!("{SETTINGS}{socket}\n{settings}\n"));
        cluster.restart();
        cluster
    }

    /// A standby of this cluster, which streams from it. If it is `synchronous`, commits here wait until they are on its disk from now
    /// on.
    pub fn standby(&self, synchronous: bool) -> Cluster {
        let standby = Cluster::empty();
        let source = format!("host=127.0.0.1 port={} user={USER} application_name=standby", self.port);
        self.append("pg_hba.conf", "host replication all 127.0.0.1/32 trust\n");
        standby.run("pg_basebackup", &["-d", &source, "-D", &standby.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
        let socket = format!("unix_socket_directories = '{}'\n", standby.folder.display());
        standby.append("postgresql.conf", &socket);
        standby.restart();
        if synchronous {
            self.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
            self.sql("postgres", "SELECT pg_reload_conf()");
        }
        let state = if synchronous { "sync" } else { "async" };
        let query = format!("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '{state}'");
        wait_for("the standby streams", || self.sql("postgres", &query) == "1");
        standby
    }

    /// Makes a standby a server that can be written, and returns when it can.
    pub fn promote(&self) {
        self.sql("postgres", "SELECT pg_promote(true, 60)");
        wait_for("the standby is promoted", || self.sql("postgres", "SELECT pg_is_in_recovery()") == "f");
    }

    /// Stops the server, if it runs, and waits until it has ended.
    pub fn stop(&self, how: Stop) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut child) = server.take() else { return };
        let signal = match how {
            Stop::Fast => "-INT",
            Stop::Immediate => "-QUIT",
        };
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success(), "the server ended by itself:\n{}", self.log());
        child.wait().expect("the server ends");
    }

    /// Starts the server, after stopping it if it runs, and returns when it answers.
    pub fn restart(&self) {
        self.stop(Stop::Fast);
        self.launch();
        let started = Instant::now();
        while !self.answers() {
            assert!(self.is_running(), "the server ended:\n{}", self.log());
            assert!(started.elapsed() < Duration::from_secs(60), "the server does not answer:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts the server and does not wait for it.
    pub fn launch(&self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(server.is_none(), "the server runs");
        let log = File::options().create(true).append(true).open(self.folder.join("log")).expect("a log");
        let mut command = self.command("postgres");
        command.args(["-D", &self.data(), "-p", &self.port.to_string()]);
        let child = command.stdout(log.try_clone().expect("the log")).stderr(log).process_group(0).spawn();
        *server = Some(child.expect("the server starts"));
    }

    /// Makes an empty database and gives its name, which no other cluster has: whoever looks for it where its cluster was, and meets
    /// another one there, is refused.
    pub fn database(&self) -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        name
    }

    /// The URL of a database, over TCP.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// A URL under which a database is found on whichever of these clusters can be written.
    pub fn url_of_either(&self, other: &Cluster, database: &str) -> String {
        let (one, two) = (self.port, other.port);
        format!("postgres://{USER}@127.0.0.1:{one},127.0.0.1:{two}/{database}?target_session_attrs=read-write")
    }

    /// The port on 127.0.0.1, the same as long as the cluster is there.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of the cluster: its data are in `data`, its log is `log`, and its socket is there too.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The process of the server, if it runs.
    pub fn process_id(&self) -> Option<u32> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Child::id)
    }

    /// Runs SQL in a database; gives the rows, one a line, columns apart by `|`.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let output = self.psql(database, sql).output().expect("psql runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {error}\n{}", self.log());
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }

    /// Appends lines to a file in the data folder. The server reads them when it starts or is [told to](Cluster::reload).
    pub fn append(&self, file: &str, lines: &str) {
        let path = self.folder.join("data").join(file);
        let mut file = File::options().append(true).open(&path).expect("a file of the cluster");
        file.write_all(lines.as_bytes()).expect("it is written");
    }

    /// Replaces a file in the data folder, or makes it, so that the server alone can read it.
    pub fn replace(&self, file: &str, text: &str) {
        let path = self.folder.join("data").join(file);
        fs::write(&path, text).expect("a file of the cluster");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
        if let Some((user, group)) = other_user() {
            chown(&path, Some(user), Some(group)).expect("the file is the server's");
        }
    }

    /// From now on lets nobody in over TCP but encrypted, under this certificate (PEM, as its key is), and with a password.
    pub fn demand_tls_and_passwords(&self, certificate: &str, key: &str) {
        self.replace("server.crt", certificate);
        self.replace("server.key", key);
        self.replace("pg_hba.conf", "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n");
        self.append("postgresql.conf", "ssl = on\npassword_encryption = scram-sha-256\n");
        self.restart();
    }

    /// Has the server read its settings again.
    pub fn reload(&self) {
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// A folder, a port, and the guard of both.
    fn empty() -> Cluster {
        let folder = tempfile::Builder::new().prefix("mancala-pg-").tempdir().expect("a folder").keep();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("permissions");
        if let Some((user, group)) = other_user() {
            chown(&folder, Some(user), Some(group)).expect("the folder is the server's");
        }
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a shell");
        Cluster { folder, port: free_port(), server: Mutex::new(None), guard }
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    fn answers(&self) -> bool {
        let ready = self.psql("postgres", "SELECT 1").stdout(Stdio::null()).stderr(Stdio::null()).status();
        ready.expect("psql runs").success()
    }

    fn is_running(&self) -> bool {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_mut().is_some_and(|child| child.try_wait().expect("a child").is_none())
    }

    fn psql(&self, database: &str, sql: &str) -> Command {
        let mut command = self.command("psql");
        let host = self.folder.display().to_string();
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", &host, "-p", &self.port.to_string()]);
        command.args(["-U", USER, "-d", database, "-c", sql]);
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let output = self.command(program).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// One of Postgres's programs, as the user that may run it.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(programs().join(program));
        command.current_dir(&self.folder).env("LC_ALL", "C").env_remove("PGHOST").env_remove("PGPORT");
        if let Some((user, group)) = other_user() {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        self.guard.wait().expect("the guard ends");
        if let Some(mut child) = self.server.lock().unwrap_or_else(PoisonError::into_inner).take() {
            child.wait().expect("the server has ended");
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("folder", &self.folder).field("port", &self.port).finish_non_exhaustive()
    }
}

/// Waits for the end of its input, ends the server that the folder names, and removes the folder.
const GUARD: &str = "
cat >/dev/null
server=$(head -n 1 \"$1/data/postmaster.pid\" 2>/dev/null)
if [ -n \"$server\" ]; then
    kill -QUIT \"$server\" 2>/dev/null
    for _ in $(seq 100); do
        [ -e \"$1/data/postmaster.pid\" ] && kill -0 \"$server\" 2>/dev/null || break
        [ \"$(cut -d ' ' -f 3 \"/proc/$server/stat\" 2>/dev/null)\" != Z ] || break
        sleep 0.05
    done
fi
rm -rf \"$1\"
";

/// Waits until something holds.
///
/// # Panics
/// If it does not within a minute.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Where the newest of Debian's servers has its programs, or those that are on the path.
fn programs() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
        let on_path = std::env::var_os("PATH").into_iter().flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
        let mut found: Vec<_> = versions.chain(on_path).filter(|folder| folder.join("initdb").exists()).collect();
        found.sort_by_key(|folder| folder.to_str().and_then(|path| path.split('/').find_map(|part| part.parse::<u32>().ok())));
        found.pop().expect("Postgres is missing: `tests/tools/install` or `apt-get install postgresql` brings it")
    })
}

/// The user and group that run the server if we are root: `postgres`, or `nobody`.
fn other_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").expect("/proc is mounted").uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("the list of users");
    let ids = |name: &str| {
        let fields: Vec<_> = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name)?;
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    };
    Some(ids("postgres").or_else(|| ids("nobody")).expect("a user that can run Postgres"))
}

/// A port that nobody listens on, and that no program is given by chance while the server is stopped.
fn free_port() -> u16 {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(61);
    let ports = std::iter::repeat_with(|| start.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed)));
    let mut ports = ports.map(|n| 20_000 + (n % 12_000) as u16).take(12_000);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}
