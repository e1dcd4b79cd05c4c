//! The input, read as choices.

/// Bytes, each of which decides something. Zeros follow when they are used up.
pub struct Script<'a>(pub &'a [u8]);

impl<'a> Script<'a> {
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    /// At most so many bytes as they are.
    pub fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// One of these.
    pub fn pick<'b, T>(&mut self, items: &'b [T]) -> Option<&'b T> {
        let byte = usize::from(self.byte());
        items.get(byte % items.len().max(1))
    }
}
