/** Texts that identify a machine, as BMCs write them. */

const hex = /^[0-9a-f]{32}$/

/**
 * A UUID in its usual spelling, and the same with the first three fields in the other byte order:
 * SMBIOS before 2.6 left the order open, and BMCs changed it with updates of the BIOS. Empty if it
 * is no UUID, or all zeros or all ones.
 */
export function uuidsOf(text: string | null): string[] {
  const digits = (text ?? '').replaceAll(/[-{}\s]/g, '').toLowerCase()
  if (!hex.test(digits) || /^(?:0{32}|f{32})$/.test(digits)) return []
  const spell = (all: string) =>
    [all.slice(0, 8), all.slice(8, 12), all.slice(12, 16), all.slice(16, 20), all.slice(20)].join(
      '-',
    )
  const turned = (field: string) => field.match(/../g)!.toReversed().join('')
  const other =
    turned(digits.slice(0, 8)) +
    turned(digits.slice(8, 12)) +
    turned(digits.slice(12, 16)) +
    digits.slice(16)
  return [...new Set([spell(digits), spell(other)])]
}
