//! Compiles the wire contract in `proto/` to Rust. Pure Rust, so that building needs no `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "server")]
    wire::compile()?;
    Ok(())
}

#[cfg(feature = "server")]
mod wire {
    use std::error::Error;
    use std::path::{Path, PathBuf};
    use std::{env, fs, io};

    /// Compiles every proto file of the package to Rust and to a descriptor set with comments, both in `OUT_DIR`.
    pub fn compile() -> Result<(), Box<dyn Error>> {
        // The folder itself is watched too, so that a new file is noticed.
        println!("cargo::rerun-if-changed=proto");
        let files = proto_files(Path::new("proto/mancala/v1"))?;
        for file in &files {
            println!("cargo::rerun-if-changed={}", file.display());
        }

        let mut compiler = protox::Compiler::new(["proto"])?;
        compiler.include_imports(true).include_source_info(true).open_files(files)?;
        let out = PathBuf::from(env::var("OUT_DIR")?);
        fs::write(out.join("mancala.v1.bin"), compiler.encode_file_descriptor_set())?;

        // Ordered maps: the same message is the same bytes, whoever writes it and whenever.
        tonic_prost_build::configure()
            .btree_map(".")
            .codec_path("crate::wire::codec::MessageCodec")
            .extern_path(".mancala.v1.StepPositionsRequest", "crate::wire::proto::StepPositionsRequest")
            .extern_path(".mancala.v1.StepPositionsResponse", "crate::wire::proto::StepPositionsResponse")
            .compile_fds(compiler.file_descriptor_set())?;
        Ok(())
    }

    /// The proto files of a folder, in a fixed order so that builds are reproducible.
    fn proto_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        files.retain(|path| path.extension().is_some_and(|extension| extension == "proto"));
        files.sort();
        Ok(files)
    }
}
