//! Whether the log beside a store's file is whole.
//!
//! SQLite takes a log up to the first frame that is not as it was written, and says nothing of what comes after: so the end of a
//! transaction that was cut off with the power is left out. A frame that was damaged later looks the same and would
//! take with it, in silence, everything that was acknowledged after it. The two can be told apart: every commit was synced before
//! the next frame was written, and before SQLite's shared memory told of it. So frames that are followed by others, or that the
//! shared memory knows of, were whole.
//!
//! Formats are those of SQLite's "Database File Format" and "WAL-mode File Format".

use super::lock::sidecar;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The first word of a log, but for its last bit: that is set if checksums are over big-endian numbers.
const MAGIC: u32 = 0x377F_0682;

/// Of the shared memory: the length of what it begins with, twice; and the version that it bears.
const INDEX_HEADER: usize = 48;
const INDEX_VERSION: u32 = 3_007_000;

/// Marks the frames of one use of a log, which is written from its beginning again and again.
type Salt = [u8; 8];

type Checksum = [u32; 2];

/// What is wrong with the log of a store whose pages are so long, if there is one. If nothing is, all of it is synced: SQLite
/// builds on all that it finds there.
pub(super) fn damage(path: &Path, page_size: usize) -> io::Result<Option<String>> {
    let file = match File::open(sidecar(path, "-wal")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut log = BufReader::with_capacity(1 << 16, &file);
    let Some(header) = read::<HEADER>(&mut log)? else { return Ok(None) };
    let scan = scan(&header, &mut log, page_size)?;
    let promised = match scan.salt {
        Some(salt) => frames_in_shared_memory(path, salt)?,
        None => 0,
    };
    if scan.followed || promised > scan.kept {
        let kept = scan.kept;
        return Ok(Some(format!("its log is not as it was written after frame {kept}, but was acknowledged beyond it")));
    }
    file.sync_data()?;
    Ok(None)
}

/// What a walk along the log has found.
struct Scan {
    /// The last frame up to which SQLite takes it: one that ends a transaction. 0: none.
    kept: u32,
    /// What marks its frames; `None` if it has none.
    salt: Option<Salt>,
    /// A transaction beyond that was followed by another one.
    followed: bool,
}

fn scan(header: &[u8; HEADER], log: &mut impl Read, page_size: usize) -> io::Result<Scan> {
    let mut big_endian = header[3] & 1 == 1;
    let sum = checksum([0, 0], &header[..24], big_endian);
    let sound = number(header, 0) | 1 == MAGIC | 1 && checksum_at(header, 24) == sum && number(header, 8) as usize == page_size;
    if !sound {
        // Whoever wrote it was most likely a machine like this one.
        big_endian = cfg!(target_endian = "big");
    }
    let mut scan = Scan { kept: 0, salt: sound.then(|| salt_at(header, 16)), followed: false };
    // The checksum of the frame before, and whether that frame ended a transaction. A header that is not sound was when the frames
    // were written, since it is synced before: any two of them that follow on each other show that.
    let (mut before, mut committed, mut whole) = (sum, !sound, sound);
    let mut page = vec![0; page_size];
    for place in 1.. {
        let Some(frame) = read::<FRAME_HEADER>(log)? else { break };
        if !fill(log, &mut page)? {
            break;
        }
        let ours = *scan.salt.get_or_insert(salt_at(&frame, 8)) == salt_at(&frame, 8);
        let sum = checksum(checksum(before, &frame[..8], big_endian), &page, big_endian);
        before = checksum_at(&frame, 16);
        let follows = ours && sum == before;
        whole &= follows;
        scan.followed |= follows && !whole && committed;
        committed = !sound || (ours && number(&frame, 4) > 0);
        if whole && committed {
            scan.kept = place;
        }
    }
    Ok(scan)
}

/// How many frames of the log with this mark SQLite's shared memory knows of. It may be old, missing or nonsense after a power
/// cut: then it knows of fewer or none.
fn frames_in_shared_memory(path: &Path, salt: Salt) -> io::Result<u32> {
    let memory = match fs::read(sidecar(path, "-shm")) {
        Ok(memory) => memory,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let frames = memory.chunks_exact(INDEX_HEADER).take(2).filter_map(|header| {
        // It is in the machine's own order of bytes.
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| header[at + i]));
        let sum = checksum([0, 0], &header[..40], cfg!(target_endian = "big"));
        let sound = word(0) == INDEX_VERSION && header[12] == 1 && [word(40), word(44)] == sum;
        (sound && salt_at(header, 32) == salt).then(|| word(16))
    });
    Ok(frames.max().unwrap_or(0))
}

/// SQLite's checksum, going on from another one.
fn checksum([mut first, mut second]: Checksum, bytes: &[u8], big_endian: bool) -> Checksum {
    let word = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(word(&pair[..4])).wrapping_add(second);
        second = second.wrapping_add(word(&pair[4..])).wrapping_add(first);
    }
    [first, second]
}

/// Numbers in a log are big-endian, whatever its checksums are over.
fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn checksum_at(bytes: &[u8], at: usize) -> Checksum {
    [number(bytes, at), number(bytes, at + 4)]
}

fn salt_at(bytes: &[u8], at: usize) -> Salt {
    std::array::from_fn(|i| bytes[at + i])
}

/// The next so many bytes; `None` at the end.
fn read<const N: usize>(from: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    Ok(fill(from, &mut bytes)?.then_some(bytes))
}

/// Whether there were so many bytes.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
