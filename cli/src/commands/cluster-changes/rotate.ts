/** Rotates the secrets of a cluster, and lists its certificates with their expiry. */
import { certificateKinds, clusterCertificates } from '#contract/clusters/certificates.ts'
import { rotatedSecretNames } from '#contract/clusters/changes/rotate.ts'
import { command, type Command } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { table } from '../../table.ts'
import { localTime, oneLine } from '../../text.ts'
import { changeOptions, runChange } from './run-change.ts'

const named = rotatedSecretNames.map((name) => name.replaceAll('_', '-'))
const renewers = {
  rotation: 'a rotation',
  talos: 'Talos',
  steelyard: 'Steelyard',
  nobody: 'nobody',
} as const

export const rotateCommands: Command[] = [
  command({
    name: 'cluster rotate',
    summary:
      'Replace secrets of a cluster: the authority of Talos, Kubernetes or aggregated APIs, or the tokens with which servers join. Old and new secrets work until every server has the new ones.',
    operands: {
      cluster: noun.cluster,
      what: { value: 'WHAT', help: `What to replace: ${named.join(', ')}` },
    },
    options: changeOptions,
    examples: [
      'cluster rotate web talos-ca --dry-run',
      'cluster rotate web kubernetes-ca --yes --wait',
    ],
    async run(context, { operands, options }) {
      const what = rotatedSecretNames.find((name) => name.replaceAll('_', '-') === operands.what)
      if (what === undefined) throw new CliError('usage', `Give one of ${named.join(', ')}`)
      return runChange(context, operands.cluster, { kind: 'rotate', what }, options)
    },
  }),
  command({
    name: 'cluster certificates',
    summary: 'The certificates of a cluster and its servers, and when they expire.',
    operands: { cluster: noun.cluster },
    options: {},
    examples: ['cluster certificates web'],
    async run({ api, show, terminal }, { operands }) {
      const answer = await api.call(clusterCertificates, {
        params: { id: await noun.idOf(api, noun.cluster, operands.cluster) },
      })
      const helps = answer.items
        .filter((c) => c.ending && c.renewed_by === 'rotation')
        .map(
          ({ kind }) =>
            `  steelyard cluster rotate ${oneLine(operands.cluster)} ${kind.replaceAll('_', '-')} --dry-run\n`,
        )
      show(answer, ({ items }) =>
        [
          table(
            terminal,
            items,
            [
              { title: 'CERTIFICATE', text: (c) => certificateKinds[c.kind].title },
              { title: 'SERVER', text: (c) => c.name ?? '' },
              {
                title: 'ENDS',
                text: (c) => (c.ends_at === null ? 'unknown' : localTime(c.ends_at)),
                colour: (c) => (c.ending ? 'red' : null),
              },
              { title: 'RENEWED BY', text: (c) => renewers[c.renewed_by] },
              { title: 'REASON', text: (c) => c.reason ?? '' },
            ],
            'No certificates',
          ),
          ...(helps.length > 0 ? ['What helps:\n', ...helps] : []),
        ].join(''),
      )
    },
  }),
]
