/**
 * Keeps V8 from allocating the objects of `process.nextTick` in the old generation (docs/decisions/011-memory.md).
 *
 * V8 decides once, for each object literal, where optimised code allocates: in the old generation if at least 85 % of a hundred or more objects survived a
 * garbage collection. Building the app makes some two thousand ticks within milliseconds. If V8 happens to mark the heap at that time, it counts them all as
 * survivors. From then on every tick refers from the old generation to its stream, so the objects of each request survive their request, and a list takes up to
 * 40 % more processor time. So before that, this makes many ticks that end at once, and asks for a collection while a few are left: V8 then decides for
 * the young generation, and doesn't decide again.
 */
export interface Ticks {
  /** Collects the young generation; undefined if Node runs without `--expose-gc`. */
  readonly collectYoung: (() => void) | undefined
  /** `process.nextTick` */
  readonly tick: (act: () => void, ...values: readonly unknown[]) => void
}

/** V8 decides after a hundred objects. `process.nextTick` has four literals: of the tick, and of one, two and three parameters. */
const rounds = 12
const ticksPerRound = 20
const ticksLeft = 5

export async function expectShortTicks({ collectYoung, tick }: Ticks): Promise<void> {
  if (!collectYoung) return
  const nothing = () => undefined
  const makeTicks = (count: number) => {
    for (let i = 0; i < count; i++) {
      tick(nothing)
      tick(nothing, 1)
      tick(nothing, 1, 2)
      tick(nothing, 1, 2, 3)
    }
  }
  for (let round = 0; round < rounds; round++) {
    makeTicks(ticksPerRound)
    await new Promise((resolve) => setImmediate(resolve))
  }
  makeTicks(ticksLeft)
  collectYoung()
}
