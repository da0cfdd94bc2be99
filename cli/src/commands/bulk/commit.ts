/** Commits the capacity of servers with the same terms. */
import { command } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { termOptions, termsOf } from '../ccs.ts'
import { bulkOptions, runBulk } from './bulk.ts'

export const serverCommitCommand = command({
  name: 'server commit',
  summary:
    'Commit the capacity of servers, by names or labels, for a time at a price. Terms that are not given come from the draft of each server.',
  operands: { servers: { ...noun.server, many: true, optional: true } },
  options: { ...termOptions, ...bulkOptions },
  examples: [
    'server commit -l rack=3 --price 1.25 --currency EUR --end 2027-02-14 --dry-run',
    'server commit brave-otter-042 calm-lake-007 --yes --wait',
  ],
  run(context, { operands, options }) {
    const act = {
      kind: 'commit',
      keep_workload_disks: false,
      in_window: false,
      terms: termsOf(options),
    } as const
    return runBulk(context, act, operands.servers, options)
  },
})
