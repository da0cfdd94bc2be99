/**
 * Names of the screens that axe checks in `npm test`, at 375 and 1280 px: those that people use
 * often, and one of each kind of list, menu, dialog and form. They need none of the data of
 * `rare.ts`. Journeys check further ones. `npm run test:all` checks every screen.
 */
export const frequent: readonly string[] = [
  'home-signed-out',
  'sign-in',
  'overview',
  'profile-menu',
  'command-palette',
  'drawer',
  'datacenters',
  'servers',
  'servers-row-open',
  'servers-add',
  'server',
  'patch-create',
  'clusters',
  'create-cluster-review',
  'cluster',
  'cluster-health',
  'change-grow',
  'network',
  'network-map',
  'profile',
  'operations',
  'history',
  'marketplace-cc',
  'not-found',
  'something-went-wrong',
]
