/**
 * Names of the screens that axe checks in `npm test`, at 375 and 1280 px: those that people use
 * often, and one of each kind of list, menu, dialog and form. `npm run test:all` checks every
 * screen.
 */
export const frequent: readonly string[] = [
  'home-signed-out',
  'sign-in',
  'set-password',
  'overview',
  'profile-menu',
  'command-palette',
  'drawer',
  'datacenters',
  'servers',
  'servers-row-open',
  'servers-add',
  'server',
  'server-logs',
  'patch-create',
  'server-drift',
  'clusters',
  'create-cluster-review',
  'cluster',
  'cluster-keys',
  'cluster-health',
  'change-grow',
  'prepare-image',
  'network',
  'network-map',
  'subnets-assign',
  'profile',
  'operations',
  'history',
  'audit',
  'marketplace-cc',
  'not-found',
  'something-went-wrong',
]
