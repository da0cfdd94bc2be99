import css from './Flag.module.css'

const names = new Intl.DisplayNames('en', { type: 'region' })

/** "Poland" for "PL"; the code itself if unknown. */
export function countryName(code: string): string {
  try {
    return names.of(code) ?? code
  } catch {
    return code
  }
}

/** A country's flag by its ISO 3166-1 code. The accessible name is the country's name. */
export function Flag({ code }: { code: string }) {
  const name = countryName(code)
  return <img className={css['flag']} src={`/flags/${code}.svg`} alt={name} title={name} width={18} height={12} loading="lazy" decoding="async" />
}

/** A datacenter's code after the flag of its country. The code begins with the country's code: "PL" in PL-POZ-1. */
export const Site = ({ code, country = code.slice(0, 2) }: { code: string; country?: string }) => (
  <span className="row">
    <Flag code={country} />
    {code}
  </span>
)
