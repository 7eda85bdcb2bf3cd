//! Decimals as Postgres stores `numeric`: base-10000 digits behind a short header
//! (`NumericShort` in Postgres' numeric.c; the form is part of the on-disk format since 9.1).

use super::arena::{Arena, VARLENA_HEADER, varlena_header};

/// At most 38 decimal digits make at most 11 groups of four, with a split group at the point.
const MAX_GROUPS: usize = 12;
const GROUP: u128 = 10_000;
const SHORT_FORM: u16 = 0x8000;
const SHORT_NEGATIVE: u16 = 0x2000;
const SHORT_DISPLAY_SCALE_SHIFT: u16 = 7;
const SHORT_WEIGHT_NEGATIVE: u16 = 0x0040;
const SHORT_WEIGHT_MASK: u16 = 0x003F;
const TEN_TO: [u128; 4] = [1, 10, 100, 1000];

/// Appends `unscaled * 10^-scale` as a varlena, shown with `display_scale` digits after the point.
/// The arena must be aligned to 4; `scale <= display_scale <= 63`.
pub fn append(unscaled: i128, scale: u8, display_scale: u8, arena: &mut Arena) {
    // Least significant group first.
    let mut groups = [0_u16; MAX_GROUPS];
    let magnitude = unscaled.unsigned_abs();
    let count = match u64::try_from(magnitude) {
        Ok(small) => split_small(small, scale, &mut groups),
        Err(_) => split(magnitude, scale, &mut groups),
    };
    let fraction_groups = usize::from(scale).div_ceil(4);
    let significant = &groups[..count];
    let trailing_zeros = significant.iter().take_while(|group| **group == 0).count();
    let digits = &significant[trailing_zeros..];

    let mut header = SHORT_FORM | (u16::from(display_scale) << SHORT_DISPLAY_SCALE_SHIFT);
    if !digits.is_empty() {
        if unscaled < 0 {
            header |= SHORT_NEGATIVE;
        }
        // Weight of the first group: 0 for units. At most 12 groups on either side: fits 6 bits.
        let weight = count as i16 - 1 - fraction_groups as i16;
        header |= weight as u16 & SHORT_WEIGHT_MASK;
        if weight < 0 {
            header |= SHORT_WEIGHT_NEGATIVE;
        }
    }
    // Put together here and appended once: this runs for every decimal of a scan.
    let mut value = [0_u8; VARLENA_HEADER + 2 + 2 * MAX_GROUPS];
    let length = VARLENA_HEADER + 2 + 2 * digits.len();
    value[..VARLENA_HEADER].copy_from_slice(&varlena_header(length - VARLENA_HEADER));
    value[VARLENA_HEADER..VARLENA_HEADER + 2].copy_from_slice(&header.to_ne_bytes());
    let places = value[VARLENA_HEADER + 2..length].chunks_exact_mut(2);
    for (place, group) in places.zip(digits.iter().rev()) {
        place.copy_from_slice(&group.to_ne_bytes());
    }
    arena.push(&value[..length]);
}

/// Splits into groups aligned at the decimal point; gives their number without leading zero groups.
fn split(mut rest: u128, scale: u8, groups: &mut [u16; MAX_GROUPS]) -> usize {
    let mut count = 0;
    let partial = usize::from(scale % 4);
    if partial != 0 && rest != 0 {
        // The last group of the fraction has fewer digits than four: it is filled up with zeros.
        groups[0] = ((rest % TEN_TO[partial]) * TEN_TO[4 - partial]) as u16;
        rest /= TEN_TO[partial];
        count = 1;
    }
    while rest != 0 && count < MAX_GROUPS {
        groups[count] = (rest % GROUP) as u16;
        rest /= GROUP;
        count += 1;
    }
    count
}

/// [`split`] in 64 bits, where division is several times cheaper.
fn split_small(mut rest: u64, scale: u8, groups: &mut [u16; MAX_GROUPS]) -> usize {
    let mut count = 0;
    let partial = usize::from(scale % 4);
    if partial != 0 && rest != 0 {
        let ten_to = TEN_TO[partial] as u64;
        groups[0] = ((rest % ten_to) * TEN_TO[4 - partial] as u64) as u16;
        rest /= ten_to;
        count = 1;
    }
    while rest != 0 {
        groups[count] = (rest % GROUP as u64) as u16;
        rest /= GROUP as u64;
        count += 1;
    }
    count
}
