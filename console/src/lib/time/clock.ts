/** Apart from `time.ts`, because the sign-in page needs only this. */

export const two = (n: number): string => String(n).padStart(2, '0')

/** "14:07:32", local. */
export function clock(iso: string): string {
  const d = new Date(iso)
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
}
