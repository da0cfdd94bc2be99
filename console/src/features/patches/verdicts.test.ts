import { describe, expect, it } from 'vitest'
import { savingQuestion } from './verdicts.ts'

const free = { name: 'amber-falcon-204', cluster: null }
const member = { name: 'amber-falcon-204', cluster: { name: 'poz-edge' } }

describe('saving a patch', () => {
  it('asks nothing while the server is in no cluster', () => {
    expect(savingQuestion(free, { kind: 'at_install', reason: '' })).toBeNull()
  })

  it('says what will happen on a server of a cluster', () => {
    expect(savingQuestion(member, { kind: 'no_reboot', reason: '' })).toMatchObject({ danger: false, text: expect.stringContaining('does not reboot') })
    expect(savingQuestion(member, { kind: 'reboot', reason: 'sysctls of the kernel' })).toMatchObject({ label: 'Save and reboot', danger: true })
    expect(savingQuestion(member, { kind: 'unknown', reason: 'the server did not answer.' })?.text).toContain('not known: the server did not answer.')
    expect(savingQuestion(member, undefined)?.danger).toBe(true)
  })
})
