import * as z from 'zod/mini'

const STAGES = [
  'booting',
  'installing',
  'maintenance',
  'running',
  'rebooting',
  'shutting down',
  'resetting',
  'upgrading',
] as const
export type Stage = (typeof STAGES)[number] | 'unknown'

export const COMPONENTS = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'etcd',
  'kubelet',
] as const
/** A component of a server that may not come back after a restart. */
export type Component = (typeof COMPONENTS)[number]

/** Phases of a restart, a shutdown, an upgrade and a reset that may take minutes, and may fail. */
export const SLOW_PHASES = ['preShutdown', 'stopContainers', 'volumeFinalize'] as const
export type SlowPhase = (typeof SLOW_PHASES)[number]

const whenStage = z.optional(z.enum(STAGES))
const times = z._default(z.int().check(z.minimum(1), z.maximum(1_000_000)), 1)
const lasts = z.optional(z.int().check(z.minimum(1)))
const port = z.optional(z.enum(['apid', 'trustd', 'kubernetes']))

/**
 * Faults of a simulated server. `stage` arms a fault when the server reaches that stage; `times`
 * limits how often the fault occurs; `for_ms` ends the fault after that many simulated
 * milliseconds; without it the fault lasts until cleared.
 */
export const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.enum(['refuse', 'hang', 'drip', 'garbage']),
    port,
    stage: whenStage,
    for_ms: lasts,
  }),
  z.strictObject({
    kind: z.literal('delay'),
    ms: z.int().check(z.minimum(1), z.maximum(600_000)),
    for_ms: lasts,
  }),
  z.strictObject({ kind: z.literal('identity'), stage: whenStage }),
  z.strictObject({ kind: z.literal('time'), off_ms: z._default(z.int(), 0), for_ms: lasts }),
  z.strictObject({ kind: z.literal('no-image'), for_ms: lasts }),
  z.strictObject({
    kind: z.literal('image-missing'),
    image: z._default(z.string().check(z.maxLength(255)), ''),
    for_ms: lasts,
  }),
  z.strictObject({
    kind: z.literal('slow-pull'),
    image: z.string().check(z.minLength(1), z.maxLength(255)),
    ms: z.int().check(z.minimum(1), z.maximum(3_600_000)),
    for_ms: lasts,
  }),
  z.strictObject({ kind: z.literal('boots-never-ready'), for_ms: lasts }),
  z.strictObject({
    kind: z.literal('pod-crash'),
    image: z.string().check(z.minLength(1), z.maxLength(255)),
    for_ms: lasts,
  }),
  z.strictObject({
    kind: z.literal('component-fails'),
    component: z.enum(COMPONENTS),
    // The component fails only while the configuration contains this text.
    config: z.optional(z.string().check(z.minLength(1), z.maxLength(255))),
    for_ms: lasts,
  }),
  z.strictObject({ kind: z.literal('fail-upgrade'), times }),
  z.strictObject({
    kind: z.literal('etcd-alarm'),
    alarm: z.enum(['nospace', 'corrupt']),
    db_bytes: z.optional(z.int().check(z.minimum(1))),
    stage: whenStage,
  }),
  z.strictObject({ kind: z.literal('hang-upgrade'), for_ms: lasts }),
  z.strictObject({
    kind: z.literal('slow-stop'),
    phase: z.enum(SLOW_PHASES),
    // The limit of Talos for each of these phases but `preShutdown`, whose limit extensions set.
    ms: z._default(z.int().check(z.minimum(1), z.maximum(300_000)), 300_000),
    fails: z._default(z.boolean(), false),
    times,
  }),
  z.strictObject({ kind: z.literal('bad-boot'), times }),
  z.strictObject({
    kind: z.literal('disks'),
    what: z.enum(['swapped', 'lost', 'filled']),
    stage: whenStage,
  }),
  z.strictObject({
    kind: z.literal('late-disks'),
    ms: z.int().check(z.minimum(1), z.maximum(3_600_000)),
    for_ms: lasts,
  }),
  z.strictObject({
    kind: z.literal('slow-boot'),
    ms: z.int().check(z.minimum(1), z.maximum(3_600_000)),
    for_ms: lasts,
  }),
  z.strictObject({ kind: z.literal('vanish'), stage: whenStage }),
  z.strictObject({
    kind: z.literal('fail-install'),
    times,
    when: z.optional(z.enum(['before-partitioning', 'after-partitioning', 'boot-loader'])),
  }),
  z.strictObject({ kind: z.literal('endless-install'), for_ms: lasts }),
  z.strictObject({ kind: z.literal('endless-pull'), for_ms: lasts }),
  z.strictObject({ kind: z.literal('early-answer'), for_ms: lasts }),
  z.strictObject({ kind: z.literal('close-after-apply'), times }),
  z.strictObject({ kind: z.literal('refuse-apply'), times }),
  z.strictObject({
    kind: z.literal('lost-reply'),
    method: z._default(z.string().check(z.maxLength(64)), 'ApplyConfiguration'),
    times,
  }),
])
export type Fault = z.infer<typeof faultSchema>
