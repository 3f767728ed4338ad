//! The tokens of JSON.

/// A text that is read from left to right.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    position: usize,
}

const END: &str = "unexpected end of JSON input";

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, position: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    /// Inside a number or a word, the end of the text counts as a space.
    fn peek_or_space(&self) -> u8 {
        self.peek().unwrap_or(b' ')
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
    }

    /// The first byte of the next token.
    pub(super) fn next_token(&mut self) -> Result<u8, String> {
        self.skip_space();
        let byte = self.peek().ok_or(END)?;
        self.position += 1;
        Ok(byte)
    }

    /// Goes past the next token if it is this one.
    pub(super) fn skips(&mut self, byte: u8) -> Result<bool, String> {
        self.skip_space();
        let found = self.peek().ok_or(END)? == byte;
        self.position += usize::from(found);
        Ok(found)
    }

    /// Goes past a token that must be there.
    pub(super) fn expect(&mut self, byte: u8, place: &str) -> Result<(), String> {
        match self.next_token()? {
            found if found == byte => Ok(()),
            other => Err(format!("invalid character {} {place}", printed(other))),
        }
    }

    /// Nothing may follow.
    pub(super) fn end(&mut self) -> Result<(), String> {
        self.skip_space();
        self.peek().map_or(Ok(()), |byte| Err(format!("invalid character {} after top-level value", printed(byte))))
    }

    /// The rest of a word whose first letter was read.
    pub(super) fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes().skip(1) {
            let found = self.peek_or_space();
            if found != expected {
                let (found, expected) = (printed(found), printed(expected));
                return Err(format!("invalid character {found} in literal {word} (expecting {expected})"));
            }
            self.position += 1;
        }
        Ok(())
    }

    /// The text of a number whose first character was read.
    pub(super) fn number(&mut self, first: u8) -> Result<String, String> {
        let start = self.position - 1;
        let leading = if first == b'-' { self.digit("in numeric literal")? } else { first };
        if leading != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.position += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.position += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.position += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(String::from_utf8_lossy(&self.text[start..self.position]).into_owned())
    }

    fn digit(&mut self, place: &str) -> Result<u8, String> {
        match self.peek_or_space() {
            digit @ b'0'..=b'9' => {
                self.position += 1;
                Ok(digit)
            }
            other => Err(format!("invalid character {} {place}", printed(other))),
        }
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.position += 1;
        }
    }

    /// The rest of a string whose quotation mark was read. Bytes that are no text become the replacement character.
    pub(super) fn string(&mut self) -> Result<String, String> {
        let mut bytes = Vec::new();
        loop {
            let byte = self.peek().ok_or(END)?;
            self.position += 1;
            match byte {
                b'"' => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                b'\\' => self.escape(&mut bytes)?,
                0..=0x1f => return Err(format!("invalid character {} in string literal", printed(byte))),
                other => bytes.push(other),
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), String> {
        let byte = self.peek().ok_or(END)?;
        self.position += 1;
        bytes.push(match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.character()?;
                bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            other => return Err(format!("invalid character {} in string escape code", printed(other))),
        });
        Ok(())
    }

    /// The character of `\u` escapes: one, or the two halves of a pair. A half without the other is replaced.
    fn character(&mut self) -> Result<char, String> {
        let first = self.hexadecimal()?;
        if !(0xd800..0xdc00).contains(&first) || !self.text[self.position..].starts_with(b"\\u") {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let start = self.position;
        self.position += 2;
        let second = self.hexadecimal()?;
        if !(0xdc00..0xe000).contains(&second) {
            self.position = start;
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hexadecimal(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.peek().ok_or(END)?;
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(format!("invalid character {} in \\u hexadecimal character escape", printed(byte)));
            };
            self.position += 1;
            code = code * 16 + digit;
        }
        Ok(code)
    }
}

/// A byte between quotation marks, escaped as Go does.
pub(super) fn printed(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0x07 => r"'\a'".to_owned(),
        0x08 => r"'\b'".to_owned(),
        0x0b => r"'\v'".to_owned(),
        0x0c => r"'\f'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0..=0x1f | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}
