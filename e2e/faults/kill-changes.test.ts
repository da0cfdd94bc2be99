/**
 * Kills the program with −9 around the effects of each kind of change of a running cluster. All
 * kinds share one installation, and each has its own servers. `npm test` tries one point of some
 * kinds, `npm run test:all` all points of all.
 */
import { killConfigurations, withDisks } from './testing/kinds/configurations.ts'
import { killDeletions } from './testing/kinds/deletion.ts'
import { killChangesOfMembers } from './testing/kinds/members.ts'
import { killAssignments } from './testing/kinds/pools.ts'
import { killResets } from './testing/kinds/reset.ts'
import { killTalosUpgrades } from './testing/kinds/talos-upgrade.ts'
import { longTests } from '../../tools/testing/length.ts'
import { startInstallation } from './testing/killing.ts'

const installation = await startInstallation({
  servers: longTests ? 40 : 7,
  seed: 'kill-changes',
  special: { 1: withDisks, 2: withDisks },
})
killConfigurations(installation)
if (longTests) {
  killTalosUpgrades(installation)
  killAssignments(installation)
  killChangesOfMembers(installation)
}
killDeletions(installation, killResets(installation))
