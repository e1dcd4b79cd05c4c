//! Tests that need a world of their own run themselves again in a process that has it: with mounts that nobody else sees,
//! without root's privileges, with a limit, or with a system call that fails. Works for root and for others.
//!
//! What is missing is a failure that says what to install, never a test that passes without having tested.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// Set in the inner process to the name of its test.
const INSIDE: &str = "MANCALA_TEST_INSIDE";

/// Whether this process is the inner one of a test.
pub fn inside(test: &str) -> bool {
    std::env::var(INSIDE).is_ok_and(|inside| inside == test)
}

/// A command that runs `wrapper` around this very test.
pub fn again(test: &str, wrapper: &[&str]) -> Command {
    let this = std::env::current_exe().expect("this test's path");
    let mut words: Vec<_> = wrapper.iter().map(Into::into).collect();
    words.push(this.into_os_string());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["--exact", test, "--nocapture", "--test-threads=1"]).env(INSIDE, test);
    command
}

/// Runs a test in a mount namespace of its own, in which it is root.
pub fn with_own_mounts(test: &str, body: impl FnOnce()) {
    within(test, &["unshare", "--map-root-user", "--mount"], body);
}

/// Runs a test where permission bits bind even root.
pub fn without_privileges(test: &str, body: impl FnOnce()) {
    let wrapper = ["unshare", "--map-root-user", "setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    within(test, &wrapper, body);
}

/// Runs a test in a process that gets an error, not a signal, when it writes more than its limit on the size of files.
pub fn with_size_limit(test: &str, body: impl FnOnce()) {
    within(test, &["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"], body);
}

/// Sets that limit, or lifts it.
pub fn limit_file_size(bytes: Option<u64>) {
    let soft = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
    let pid = std::process::id().to_string();
    run("prlimit", &["--pid", &pid, &format!("--fsize={soft}:unlimited")]);
}

fn within(test: &str, wrapper: &[&str], body: impl FnOnce()) {
    if inside(test) {
        return body();
    }
    let output = again(test, wrapper).output().unwrap_or_else(|error| panic!("{}: {error}. {HELP}", wrapper[0]));
    assert_passed(test, &output);
}

/// The inner process must have run exactly this test: a misspelt name runs none, and that succeeds.
pub fn assert_passed(test: &str, output: &Output) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{test} failed inside:\n{out}\n{err}\n{HELP}");
}

const HELP: &str = "(These tests need unshare, setpriv, prlimit and mount: `apt-get install util-linux mount`; \
                    a system that lets users make namespaces: `sysctl kernel.unprivileged_userns_clone=1`, or root; and cc.)";

/// Runs a command that must succeed.
pub fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}. {HELP}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}{HELP}", String::from_utf8_lossy(&output.stderr));
}

/// Builds a library of tests/support that is to be preloaded, and puts it into a folder.
pub fn build_preload(name: &str, folder: &Path) -> PathBuf {
    let library = folder.join(name).with_extension("so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(name).with_extension("c");
    run("cc", &["-shared", "-fPIC", "-o", text(&library), text(&source), "-ldl", "-lpthread"]);
    library
}

/// What is mounted at a path, until this is dropped, which must be before its folder is removed.
#[must_use]
pub struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily, since a test that fails may still hold files of it. Whatever is left ends with the namespace.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// A small disk of its own in memory.
pub fn mount_small_disk(folder: &Path, kib: u32) -> Mounted {
    run("mount", &["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs", text(folder)]);
    Mounted(folder.to_owned())
}

/// Makes a file or folder read-only whatever its permissions.
pub fn mount_read_only(path: &Path) -> Mounted {
    run("mount", &["--bind", text(path), text(path)]);
    let mounted = Mounted(path.to_owned());
    run("mount", &["-o", "remount,bind,ro", text(path)]);
    mounted
}

/// A path as a command's argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of UTF-8")
}

/// An inner process that is spoken with while it runs: it says lines, and is killed when this is dropped.
pub struct Companion {
    child: Child,
    said: BufReader<ChildStdout>,
}

/// What a companion's lines begin with, to tell them from those of the test harness.
pub const SAYS: &str = "says: ";

/// Set in a companion to the path of its store.
const STORE: &str = "MANCALA_TEST_STORE";

/// In a companion: where its store is.
pub fn companions_store() -> PathBuf {
    std::env::var_os(STORE).expect("set by the outer process").into()
}

impl Companion {
    /// Starts it with the path of its store at which [`companions_store`] finds it.
    pub fn start(test: &str, path: &Path) -> Companion {
        let mut command = again(test, &["env"]);
        let command = command.env(STORE, path).stdout(Stdio::piped()).stdin(Stdio::piped());
        let mut child = command.spawn().expect("this test again");
        let said = BufReader::new(child.stdout.take().expect("piped"));
        Companion { child, said }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it says; `None` when it has ended.
    pub fn hear(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.said.read_line(&mut line).expect("its output") == 0 {
                return None;
            }
            // An unfinished last line was cut by the kill.
            if let Some((_, words)) = line.strip_suffix('\n').and_then(|line| line.split_once(SAYS)) {
                return Some(words.to_owned());
            }
        }
    }

    /// SIGKILL, and what it had said until then.
    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("it can be killed");
        std::iter::from_fn(|| self.hear()).collect()
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
