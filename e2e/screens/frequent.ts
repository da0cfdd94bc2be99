/**
 * Names of the screens that axe checks in `npm test`, at 375 and 1280 px: those that people use
 * often, and one of each kind of list, menu, dialog and form. They need neither a cluster nor the
 * data of `rare.ts`. `npm run test:all` checks every screen.
 */
export const frequent: readonly string[] = [
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
  'server-configuration',
  'patch-create',
  'create-cluster-review',
  'history',
  'not-found',
  'something-went-wrong',
]

/** Further ones that journeys look at, because they have made what these screens show. */
export const ofJourneys = {
  clusters: ['clusters', 'cluster', 'cluster-health', 'change-grow', 'operations'],
  subnets: ['network', 'network-map'],
  marketplace: ['marketplace-cc'],
} as const
