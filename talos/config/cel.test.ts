/** Types of CEL expressions. `conformance/expressions.test.ts` compares many more with Talos's code. */
import { expect, test } from 'vitest'
import { celProblem, celSelects, type CelScope } from './cel.ts'

test.each<[CelScope, string, string | undefined]>([
  ['disk', 'disk.size > 100u * GiB && !disk.rotational', undefined],
  ['disk', 'disk.size > 1.5e9', '> is not for uint and double'],
  ['disk', 'disk == null', undefined],
  ['disk', 'disk.size == null', '== is not for uint and null'],
  ['disk', 'disk.model.lowerAscii() == "x"', 'there is no function lowerAscii'],
  ['disk', 'disk.symlinks.exists(s, s)', 'a bool is needed, not string'],
  ['disk', 'disk.?model == "x"', 'Expected IDENTIFIER, got QUESTION'],
  ['link', 'link.name == "eth0"', 'LinkStatusSpec has no field name'],
  ['link', 'link.physical', 'LinkStatusSpec has no field physical'],
  ['link', 'mtu == 1500', 'there is no mtu here'],
  ['link', 'link.mtu == 1500', '== is not for uint and int'],
  ['link', 'link.wireguard.peers.all(p, p.endpoint != "")', undefined],
  ['oom ranking', 'memory_max.orValue(0u) > 1u ? 1 : 0', 'it gives int, not double'],
])('Test that an expression of a %s is typed: %s', (scope, expression, problem) => {
  expect(celProblem(expression, scope, '1.14')).toBe(problem)
})

test('Test that a field of a newer Talos version is refused for older ones', () => {
  const expression = 'disk.firmware_version == "A1"'
  expect(celProblem(expression, 'disk', '1.13')).toBe('DiskSpec has no field firmware_version')
  expect(celProblem(expression, 'disk', '1.14')).toBeUndefined()
})

test('Test that the work of typing an expression is limited', () => {
  const doubled = `[1]${'.map(a, {a: a})'.repeat(60)}.size() == 1`
  expect(celProblem(doubled, 'disk', '1.14')).toBe('its types are too complicated')
  const chain = Array.from({ length: 4000 }, () => 'true').join(' == ')
  expect(celProblem(chain, 'disk', '1.14')).toBeDefined()
  const sums = `${Array.from({ length: 400 }, () => '[1u]').join(' + ')} == []`
  expect(celProblem(sums, 'disk', '1.14')).toBeUndefined()
})

test('Test that has() is not answered for a field that is zero', () => {
  expect(celSelects('has(disk.model)', 'disk', { model: '' })).toBeNull()
  expect(celSelects('has(disk.model)', 'disk', { model: 'X' })).toBe(true)
})
