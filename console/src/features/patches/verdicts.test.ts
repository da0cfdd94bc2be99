import { describe, expect, it } from 'vitest'
import type { Preview } from '#contract/patches.ts'
import { savingQuestion, warningTitle } from './verdicts.ts'

const saying = (
  kind: Preview['verdict']['kind'],
  reason = '',
): Pick<Preview, 'verdict' | 'warnings'> => ({ verdict: { kind, reason }, warnings: [] })
const cutOff = {
  check: 'management_address' as const,
  message: 'It stops DHCP on eth0',
  link: 'eth0',
  line: null,
}
const noLink = { check: null, message: 'It has no link eth7', link: 'eth7', line: 5 }
const free = { name: 'amber-falcon-204', cluster: null }
const member = { name: 'amber-falcon-204', cluster: { name: 'poz-edge' } }

describe('saving a patch', () => {
  it('saving a patch needs no confirmation while the server is in no cluster', () => {
    expect(savingQuestion(free, saying('at_install'))).toBeNull()
  })

  it('for a server of a cluster, the effect of saving a patch is shown', () => {
    expect(savingQuestion(member, saying('no_reboot'))).toMatchObject({
      danger: false,
      text: expect.stringContaining('without a reboot'),
    })
    expect(savingQuestion(member, saying('reboot', 'sysctls of the kernel'))).toMatchObject({
      label: 'Save and reboot',
      danger: true,
    })
    expect(savingQuestion(member, saying('unknown', 'the server did not answer.'))?.text).toContain(
      'not known: the server did not answer.',
    )
    expect(savingQuestion(member, undefined)?.danger).toBe(true)
  })

  it('if saving a patch would break something, it is marked as dangerous, with a warning', () => {
    expect(savingQuestion(member, { ...saying('no_reboot'), warnings: [cutOff] })).toMatchObject({
      danger: true,
      text: expect.stringContaining('It stops DHCP on eth0.'),
    })
    expect(warningTitle([noLink], false)).toBe('The server lacks a link')
    const noDisk = { check: null, message: 'It has no disk /dev/vda', link: null, line: 6 }
    expect(warningTitle([noDisk], false)).toBe('A value may not work')
    expect(warningTitle([noDisk, noLink], true)).toBe('Some values may not work')
    expect(warningTitle([cutOff, noLink], false)).toBe('Saving makes the server ineligible')
    expect(warningTitle([cutOff], true)).toBe('Saving may cut the server off')
  })
})
