import { expect, test } from 'vitest'
import { Problem } from './errors.ts'
import { all, firstFailed, forNow, no, refusalBy, yes } from './rule.ts'

test('a final refusal counts before one that is only for now, because no wait helps against it', () => {
  const [silent, rule] = [forNow('It does not answer'), no('A rule says no')]
  expect(all(yes, silent, rule)).toBe(rule)
  expect(all(silent, yes, forNow('It is busy'))).toBe(silent)
  expect(all(yes, yes)).toBe(yes)
  const checks = [
    { ok: true, message: 'fine' },
    { ok: false, message: 'silent', for_now: true as const },
    { ok: false, message: 'rule' },
  ]
  expect(firstFailed(checks)?.message).toBe('rule')
  expect(firstFailed(checks.slice(0, 2))?.message).toBe('silent')
  expect(firstFailed(checks.slice(0, 1))).toBeUndefined()
  expect(refusalBy(checks[1]!)).toEqual(forNow('silent'))
})

test('an error has the kind of its code, unless a rule says otherwise', () => {
  expect(new Problem('server_unreachable', 'It does not answer').kind).toBe('for_now')
  expect(new Problem('name_taken', 'The name is taken').kind).toBe('final')
  expect(Problem.of('cluster_not_ready', no('It is being deleted')).kind).toBe('final')
  expect(Problem.of('transition_refused', forNow('It is silent'))).toMatchObject({
    code: 'transition_refused',
    message: 'It is silent',
    kind: 'for_now',
  })
})
