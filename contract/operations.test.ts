import { expect, test } from 'vitest'
import { allOperations } from './all.ts'
import { changeOperations, ClusterChange, isChange } from './clusters/changes/changes.ts'
import { errorsOf } from './operation.ts'
import { kindTitles, operationKinds } from './operations.ts'
import { scopesToChange, writeScopeOf } from './operations/changing.ts'
import { bulkStep } from './servers/bulk-acts.ts'
import { machineCommandKinds, machineCommands } from './servers/machine-commands.ts'
import { serverCommands } from './servers/servers.ts'

const changes = operationKinds.filter(isChange)

test('the title of a kind stands alone, without a preposition at its end', () => {
  const dangling = Object.values(kindTitles).filter((title) =>
    / (?:at|by|for|from|in|into|of|on|to|with)$/.test(title),
  )
  expect(dangling).toEqual([])
})

test.each(operationKinds.filter((kind) => !isChange(kind)))(
  'the operation kind %s is the name of a call that needs the write scope of its target',
  (kind) => {
    const call = allOperations.find((o) => o.name === kind)!
    expect(call).toMatchObject({ name: kind, kept: true })
    expect(call.method).not.toBe('GET')
    expect(call.scope).toBe(kind === 'clusterSubnetsAssign' ? 'network:write' : writeScopeOf(kind))
  },
)

test.each(machineCommandKinds)(
  'the operation kind %s has its own call, which is refused while another operation runs on the server',
  (kind) => {
    expect(serverCommands[kind]).toMatchObject({
      name: kind,
      path: `/v1/nodes/{id}/${machineCommands[kind].verb}`,
    })
    expect([...errorsOf(serverCommands[kind])]).toContain('operation_running')
  },
)

test('each kind of change has an operation, and each operation of a change has a kind', () => {
  const kinds = ClusterChange._zod.def.options.flatMap(
    (one) => one._zod.propValues?.['kind']?.values().toArray() ?? [],
  )
  expect(new Set(kinds)).toEqual(new Set(Object.keys(changeOperations)))
  expect(new Set(Object.values(changeOperations))).toEqual(new Set(changes))
})

test('to change an act on many servers needs the scope of what the act changes as well', () => {
  const needs = (act: Parameters<typeof bulkStep>[0]) =>
    scopesToChange({ kind: 'serverBulk' }, [{ key: bulkStep(act, 'a') }])
  expect(needs('reboot')).toEqual(['servers:write'])
  expect(needs('upgrade')).toEqual(['servers:write', 'clusters:write'])
  expect(needs('commit')).toEqual(['servers:write', 'marketplace:write'])
  expect(scopesToChange({ kind: 'clusterCreate' }, [])).toEqual(['clusters:write'])
})
