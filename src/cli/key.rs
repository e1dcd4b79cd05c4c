//! `mancala key`.

use crate::cli::Failure;
use crate::config::Operator;
use crate::service::{Secret, is_operator_name};
use std::io::{self, Write};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to call the operator: 1 to 32 lower-case letters, digits and hyphens
    #[arg(value_name = "NAME")]
    name: String,
}

pub fn run(Args { name }: Args) -> Result<(), Failure> {
    if !is_operator_name(&name) {
        return Err(Failure::usage("the name of an operator is 1 to 32 lower-case letters, digits and hyphens"));
    }
    let secret = Secret::new_token();
    let key = secret.operator_key(&name);
    let operator = Operator { name, key: secret.hash() };
    let text = format!(
        "The key, for its operator alone. It is not kept and can't be shown again:\n\
         \n\
         {key}\n\
         \n\
         For the server's configuration, among other operators if there are any:\n\
         \n\
         [auth]\n\
         mode = \"token\"\n\
         operators = [{operator}]\n\
         \n\
         Or for its environment:\n\
         \n\
         MANCALA_AUTH__MODE=token\n\
         MANCALA_AUTH__OPERATORS='[{operator}]'\n"
    );
    io::stdout().write_all(text.as_bytes()).map_err(Failure::run)
}
