import type { Preview } from '#contract/patches.ts'
import type { IconName } from '../../ui/pictures/Icon.tsx'

type Kind = Preview['verdict']['kind']

/** The effect of saving, in a word. */
export const verdicts: Readonly<
  Record<Kind, { word: string; tone: 'ok' | 'warn' | 'danger' | 'info'; icon: IconName }>
> = {
  no_reboot: { word: 'No reboot', tone: 'ok', icon: 'check' },
  reboot: { word: 'Reboot', tone: 'warn', icon: 'refresh' },
  not_allowed: { word: 'Not allowed', tone: 'danger', icon: 'error' },
  at_install: { word: 'Applied at install', tone: 'info', icon: 'info' },
  unknown: { word: 'Unknown', tone: 'warn', icon: 'help' },
}

/** Title of a preview's warnings. */
export function warningTitle(warnings: Preview['warnings'], isJoined: boolean): string {
  if (warnings.every(({ check, link }) => check === null && link !== null))
    return warnings.length === 1 ? 'The server lacks a link' : 'The server lacks links'
  if (warnings.every(({ check }) => check === null))
    return warnings.length === 1 ? 'A value may not work' : 'Some values may not work'
  return isJoined ? 'Saving may cut the server off' : 'Saving makes the server ineligible'
}

/**
 * The question before saving a patch of a server in a cluster; null if saving has no immediate
 * effect.
 */
export function savingQuestion(
  server: { name: string; cluster: { name: string } | null },
  preview: Pick<Preview, 'verdict' | 'warnings'> | undefined,
): { title: string; text: string; label: string; danger: boolean } | null {
  if (server.cluster === null) return null
  const { verdict, warnings = [] } = preview ?? {}
  const where = [
    `${server.name} is in the cluster ${server.cluster.name}.`,
    ...warnings.map(({ message }) => `${message}.`),
  ].join(' ')
  switch (verdict?.kind) {
    case 'no_reboot':
      return {
        title: 'Save and apply this patch?',
        label: 'Save and apply',
        danger: warnings.length > 0,
        text: `${where} The changed configuration is applied while the server runs, without a reboot.`,
      }
    case 'reboot':
      return {
        title: 'Save, apply and reboot?',
        label: 'Save and reboot',
        danger: true,
        text: `${where} The changed configuration needs a reboot: what runs on the server stops until the server is back. ${verdict.reason}`,
      }
    default:
      return {
        title: 'Save and apply this patch?',
        label: 'Save and apply',
        danger: true,
        text: `${where} The changed configuration is applied at once. Whether the server reboots is not known: ${verdict?.reason ?? 'there is no preview yet'}`,
      }
  }
}
