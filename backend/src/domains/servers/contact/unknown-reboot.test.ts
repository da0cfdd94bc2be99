/** Reboots of which a process began the sending and ended: the boot of the machine tells the rest. */
import { afterAll, expect, test } from 'vitest'
import { operationGet } from '#contract/operations.ts'
import { serverCommands } from '#contract/servers/servers.ts'
import { commandQueue } from './commanding.ts'
import { loneServer } from './testing.ts'

const { simulator, backend, id } = await loneServer()
afterAll(() => simulator.stop())
const operator = await backend.signIn({ role: 'operator' })
const { db } = backend.platform
const { operations } = backend.domains
const params = { id }
const untilEnded = async (operationId: string) => {
  const look = async () =>
    (await operator.call(operationGet, { params: { id: operationId } })).answer!
  await expect
    .poll(
      async () => {
        await backend.engine.run(2000)
        return (await look()).ended_at !== null
      },
      { timeout: 30_000 },
    )
    .toBe(true)
  return look()
}

/** Begins a reboot that waits, of which the sending was begun in `boot` by a process that has ended. */
async function unknownReboot(boot: string): Promise<string> {
  const { operation: begun } = (await operator.call(serverCommands.serverReboot, { params }))
    .answer!
  await db.transaction().execute(async (tx) => {
    await operations.amend<'serverReboot'>(tx, begun.id, { waits: true, sent_in_boot: boot })
    await tx
      .insertInto('effect')
      .values({
        queue: commandQueue,
        key: id,
        name: `serverReboot/${begun.id}`,
        fence: 0,
        attempts: 1,
        intent_at: new Date(backend.clock.now()),
        done_at: null,
        failed_at: null,
        error: null,
      })
      .execute()
  })
  return begun.id
}

test('a reboot with unknown result that nobody watches is sent again if the machine still runs the same boot', async () => {
  const machine = simulator.servers[0]!
  const { bootId } = machine
  const { reboots } = machine.disk.state.counters
  const operationId = await unknownReboot(bootId)
  await backend.engine.run(30_000)
  expect(machine.bootId).toBe(bootId)
  expect(await untilEnded(operationId)).toMatchObject({
    status: 'done',
    reason: null,
    steps: [
      { status: 'done', reason: null },
      { status: 'done', reason: null },
    ],
  })
  expect(machine.bootId).not.toBe(bootId)
  expect(machine.disk.state.counters.reboots).toBe(reboots + 1)
})

test('a reboot with unknown result is done, and not sent again, if the machine has booted since', async () => {
  const machine = simulator.servers[0]!
  const { bootId } = machine
  const operationId = await unknownReboot('0b5f3b0c-6a3c-4a52-9f0e-3f0d0c8b9a11')
  expect(await untilEnded(operationId)).toMatchObject({ status: 'done', reason: null })
  expect(machine.bootId).toBe(bootId)
})
