/**
 * Location of a simulated datacenter. Country codes are from ISO 3166-1, city codes are the place
 * part of UN/LOCODE. The coordinates are the city's.
 */
export type Place = ReturnType<typeof place>

const place = (
  countryCode: string,
  country: string,
  cityCode: string,
  city: string,
  tier: 1 | 2 | 3 | 4,
  certifications: string[],
  latitude: number,
  longitude: number,
) => ({
  code: `${countryCode}-${cityCode}-1`,
  countryCode,
  country,
  cityCode,
  city,
  index: 1,
  tier,
  certifications,
  latitude,
  longitude,
})

export const PLACES: readonly Place[] = [
  place('PL', 'Poland', 'POZ', 'Poznań', 3, ['ISO 27001', 'EN 50600'], 52.406374, 16.925168),
  place(
    'DE',
    'Germany',
    'FRA',
    'Frankfurt am Main',
    4,
    ['ISO 27001', 'ISO 50001', 'SOC 2 Type II'],
    50.110924,
    8.682127,
  ),
  place('FI', 'Finland', 'HEL', 'Helsinki', 3, ['ISO 27001'], 60.169857, 24.938379),
  place('NL', 'Netherlands', 'AMS', 'Amsterdam', 3, ['ISO 27001', 'PCI DSS'], 52.367573, 4.904139),
  place('FR', 'France', 'PAR', 'Paris', 3, ['ISO 27001', 'HDS'], 48.856613, 2.352222),
  place('ES', 'Spain', 'MAD', 'Madrid', 3, ['ISO 27001'], 40.416775, -3.70379),
  place('US', 'United States', 'ASH', 'Ashburn', 3, ['SOC 2 Type II'], 39.043757, -77.487442),
  place('SG', 'Singapore', 'SIN', 'Singapore', 4, ['ISO 27001', 'SS 564'], 1.352083, 103.819839),
]
