import * as z from 'zod/mini'

const lasts = z.optional(z.int().check(z.minimum(1)))
const number = z._default(z.int().check(z.minimum(1), z.maximum(64)), 1)

/**
 * Faults of a simulated BMC and of the hardware that it watches. `for_ms` ends a fault after that
 * many simulated milliseconds; without it the fault lasts until cleared.
 */
export const bmcFaultSchema = z.discriminatedUnion('kind', [
  // The service.
  z.strictObject({
    kind: z.literal('slow'),
    /** Milliseconds of real time before each response. */
    ms: z._default(z.int().check(z.minimum(1), z.maximum(600_000)), 10_000),
    for_ms: lasts,
  }),
  z.strictObject({
    kind: z.enum([
      // Takes requests and never responds.
      'hang',
      // Takes connections and doesn't speak TLS.
      'silent',
      // Refuses connections.
      'refuse',
      // All sessions belong to somebody else.
      'sessions-full',
      // SMBIOS's UUID with its first three groups in the other byte order.
      'uuid-order',
      // Every account is locked.
      'locked',
      // A page for people in place of each document.
      'html',
      // The power's state is null.
      'null-power',
      // The service has a second system.
      'two-systems',
      'no-chassis',
      // A change of the boot override is accepted and dropped.
      'override-lost',
    ]),
    for_ms: lasts,
  }),
  z.strictObject({
    kind: z.literal('unavailable'),
    retry_after_s: z._default(z.int().check(z.minimum(0), z.maximum(3600)), 30),
    for_ms: lasts,
  }),
  /** At once another certificate. Not kept as a fault. */
  z.strictObject({ kind: z.literal('certificate') }),
  z.strictObject({
    kind: z.literal('endless'),
    /** Only documents whose path contains this text. */
    path: z._default(z.string().check(z.maxLength(200)), ''),
    for_ms: lasts,
  }),
  z.strictObject({
    kind: z.literal('redirect'),
    to: z._default(
      z.string().check(z.maxLength(500), z.regex(/^[\x21-\x7e]+$/, 'a URL')),
      'http://169.254.169.254/latest/meta-data/',
    ),
    path: z._default(z.string().check(z.maxLength(200)), ''),
    for_ms: lasts,
  }),
  /** The BMC's clock. */
  z.strictObject({ kind: z.literal('clock'), off_ms: z.int(), for_ms: lasts }),
  // The hardware. `number` counts from 1.
  z.strictObject({
    kind: z.enum(['supply-without-input', 'fan-stopped', 'memory-errors', 'disk-predicts-failure']),
    number,
    for_ms: lasts,
  }),
  z.strictObject({
    kind: z.literal('hot'),
    /** Temperature of the inlet. */
    celsius: z._default(z.int().check(z.minimum(-20), z.maximum(120)), 45),
    for_ms: lasts,
  }),
])
export type BmcFault = z.infer<typeof bmcFaultSchema>
export type BmcFaultOf<Kind extends BmcFault['kind']> = Extract<BmcFault, { kind: Kind }>
