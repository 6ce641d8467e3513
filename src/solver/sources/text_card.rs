//! Text as a card: the outlines of a font, filled.

use ab_glyph::{Font, FontRef, Glyph, GlyphId, PxScale, Rect, ScaleFont, point};

use super::card::{Card, CardError, LONGEST, MOST};
use crate::room;

/// DejaVu Sans Bold: Latin, Greek and Cyrillic. Its licence is in the folder `fonts`.
const BUNDLED: &[u8] = include_bytes!("../../../fonts/DejaVuSans-Bold.ttf");

impl Card {
    /// Makes a card of `string` with capitals `height` \[m\] high, `depth` \[m\] thick, its lines centred
    /// above each other, in pixels about `pixel` \[m\] wide. `font` is a TrueType or OpenType file; absent,
    /// the bundled sans.
    ///
    /// # Errors
    /// If the file is not a font or lacks a character, or the card would be empty or have too many pixels.
    pub fn text(
        string: &str,
        height: f32,
        depth: f32,
        font: Option<&[u8]>,
        pixel: f32,
    ) -> Result<Self, CardError> {
        let length = string.chars().count();
        if length > LONGEST {
            return Err(CardError::Long(length));
        }
        let font = FontRef::try_from_slice(font.unwrap_or(BUNDLED))
            .map_err(|_| CardError::Font("it is no TrueType or OpenType file, or damaged".into()))?;
        // Fewer than eight pixels to a capital are unreadable, however large the cells.
        let pixel = pixel.min(height / 8.0);
        let scale = PxScale::from(height / pixel * font.height_unscaled() / capital(&font));
        let glyphs = glyphs(&font, scale, string)?;
        // Outlines are large, so one is made at a time: first for its bounds, then to be filled.
        let outlines = || glyphs.iter().filter_map(|glyph| font.outline_glyph(glyph.clone()));
        let ink = outlines().map(|outline| outline.px_bounds()).reduce(joined).ok_or(CardError::Empty)?;
        let size = [ink.width(), ink.height()];
        // Also refuses a broken font whose size is NaN.
        let fits = size[0] * size[1] <= MOST as f32;
        if !fits {
            return Err(CardError::TooLarge);
        }
        let pixels = size.map(|x| x.ceil() as usize);
        let count = pixels[0] * pixels[1];
        let mut covered: Vec<u8> = room::vec(count, "the text")?;
        covered.resize(count, 0);
        for outline in outlines() {
            let from = outline.px_bounds().min - ink.min;
            outline.draw(|x, y, share| {
                let (x, y) = (x as usize + from.x as usize, y as usize + from.y as usize);
                if x < pixels[0] && y < pixels[1] {
                    let covered = &mut covered[x + pixels[0] * y];
                    *covered = covered.saturating_add((share * 255.0).round() as u8);
                }
            });
        }
        Self::grey(pixels, pixel, depth, covered)
    }
}

/// Height of a capital \[font units\].
fn capital(font: &FontRef) -> f32 {
    let outline = font.outline(font.glyph_id('H'));
    outline
        .map(|outline| outline.bounds.height().abs())
        .filter(|h| *h > 0.0)
        .unwrap_or(font.ascent_unscaled())
}

fn joined(a: Rect, b: Rect) -> Rect {
    Rect {
        min: point(a.min.x.min(b.min.x), a.min.y.min(b.min.y)),
        max: point(a.max.x.max(b.max.x), a.max.y.max(b.max.y)),
    }
}

/// Glyphs of all characters with their positions in pixels, y downwards.
fn glyphs(font: &FontRef, scale: PxScale, string: &str) -> Result<Vec<Glyph>, CardError> {
    let scaled = font.as_scaled(scale);
    let mut placed = Vec::new();
    for (number, line) in string.lines().enumerate() {
        let (glyphs, width) = advances(font, scale, line)?;
        let y = number as f32 * (scaled.height() + scaled.line_gap());
        let places = glyphs.into_iter().map(|(id, x)| (id, point(x - 0.5 * width, y)));
        placed.extend(places.map(|(id, at)| id.with_scale_and_position(scale, at)));
    }
    Ok(placed)
}

/// Glyphs of a line with their positions along it, and the length of the line.
fn advances(font: &FontRef, scale: PxScale, line: &str) -> Result<(Vec<(GlyphId, f32)>, f32), CardError> {
    let scaled = font.as_scaled(scale);
    let (mut glyphs, mut x) = (Vec::<(GlyphId, f32)>::new(), 0.0);
    for character in line.chars() {
        let id = font.glyph_id(character);
        if id == GlyphId(0) {
            return Err(CardError::Glyph(character));
        }
        x += glyphs.last().map_or(0.0, |(last, _)| scaled.kern(*last, id));
        glyphs.push((id, x));
        x += scaled.h_advance(id);
    }
    Ok((glyphs, x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_have_the_given_height() {
        let card = Card::text("HI", 0.3, 0.1, None, 0.002).unwrap();
        let [width, height, depth] = card.size();
        assert!((height - 0.3).abs() < 0.005 && depth == 0.1, "{height}");
        assert!(width > 0.3 && width < 0.45, "{width}");
        // In this font an I is a bar of known width: 0.377 em · 192/770 or so. An H is two of them and a
        // bridge.
        let ink = card.volume()[0] / 0.1;
        assert!(ink > 0.25 * 0.3 * f64::from(width) && ink < 0.7 * 0.3 * f64::from(width), "{ink}");
        assert!(!card.is_colored());
    }

    #[test]
    fn lines_stand_below_each_other() {
        let one = Card::text("Ho", 0.3, 0.1, None, 0.01).unwrap().size();
        let two = Card::text("Ho\nHo", 0.3, 0.1, None, 0.01).unwrap().size();
        assert_eq!(one[0], two[0]);
        assert!(two[1] > 2.0 * one[1]);
    }

    #[test]
    fn unusable_text_is_refused() {
        assert_eq!(Card::text("a☃", 0.3, 0.1, None, 0.01), Err(CardError::Glyph('☃')));
        assert!(CardError::Glyph('☃').to_string().contains("no glyph for `☃` (U+2603)"));
        assert_eq!(Card::text(" \n", 0.3, 0.1, None, 0.01), Err(CardError::Empty));
        assert!(matches!(Card::text("a", 0.3, 0.1, Some(b"no font"), 0.01), Err(CardError::Font(_))));
        assert_eq!(Card::text("abc", 1e6, 0.1, None, 0.01), Err(CardError::TooLarge));
        let endless = Card::text(&"a".repeat(100_000), 0.3, 0.1, None, 0.01).unwrap_err();
        assert_eq!(endless.to_string(), "it has 100000 characters, over the limit of 10000; shorten it");
        let all = "ABCxyz 0123456789 .,:;!? ÄÖÜß éèñç ŁŻ ΑΩλ Жя – “”";
        assert!(Card::text(all, 0.3, 0.1, None, 0.01).is_ok());
    }
}
