/** Screens of profile, admin, operations and audit. */
import { afterProof, dialog, nowhere, press, table } from './acts.ts'
import type { Screen } from './screen.ts'

export const peopleScreens: readonly Screen[] = [
  {
    name: 'invitation-over',
    path: '/auth/invite#used',
    signedOut: true,
    ready: (page) => page.getByText(/^This invitation was accepted already/).waitFor(),
  },
  {
    name: 'provider-return-problem',
    path: '/auth/callback?state=sign-in.unknown&error=access_denied',
    signedOut: true,
    ready: (page) =>
      page.getByRole('heading', { level: 1, name: 'You are not signed in' }).waitFor(),
  },

  {
    name: 'profile',
    path: '/profile',
    ready: (page) => page.getByRole('heading', { name: 'Appearance' }).waitFor(),
  },
  {
    name: 'profile-security',
    path: '/profile?tab=security',
    ready: (page) => page.getByRole('heading', { name: 'Passkeys' }).waitFor(),
  },
  {
    name: 'profile-authenticator',
    path: '/profile?tab=security',
    async ready(page) {
      await press(page, 'Set up')
      await afterProof(page, page.getByRole('img', { name: 'QR code for the authenticator app' }))
    },
  },
  {
    name: 'profile-sessions',
    path: '/profile?tab=sessions',
    ready: (page) => table(page, 'Sessions'),
  },
  {
    name: 'profile-tokens',
    path: '/profile?tab=tokens',
    ready: (page) => page.getByText('No API tokens yet').waitFor(),
  },
  {
    name: 'profile-token-dialog',
    path: '/profile?tab=tokens',
    async ready(page) {
      await press(page, 'Create API token')
      await dialog(page, 'Create API token')
    },
  },

  { name: 'admin-users', path: '/admin/users', ready: (page) => table(page, 'Users') },
  {
    name: 'admin-users-no-match',
    path: '/admin/users?q=nothing-is-called-so',
    ready: (page) => page.getByText('No user matches these filters.').waitFor(),
  },
  {
    name: 'admin-user-menu',
    path: '/admin/users',
    anew: true,
    async ready(page) {
      await press(page, /^Actions for/)
      await page.getByRole('menuitem', { name: 'Edit' }).waitFor()
    },
  },
  {
    name: 'admin-user-edit',
    path: '/admin/users',
    async ready(page) {
      await press(page, /^Actions for/)
      await page.getByRole('menuitem', { name: 'Edit' }).click()
      await dialog(page, /^Edit /)
    },
  },
  {
    name: 'admin-invite',
    path: '/admin/users',
    async ready(page) {
      await press(page, 'Invite')
      await dialog(page, 'Invite a user')
    },
  },
  {
    name: 'admin-add-user',
    path: '/admin/users',
    async ready(page) {
      await press(page, 'Add user')
      await dialog(page, 'Add a user')
    },
  },
  {
    name: 'admin-invitations',
    path: '/admin/invitations',
    ready: (page) => table(page, 'Invitations'),
  },
  {
    name: 'admin-waitlist',
    path: '/admin/waitlist',
    ready: (page) => table(page, 'Entries'),
  },
  { name: 'admin-sessions', path: '/admin/sessions', ready: (page) => table(page, 'Sessions') },
  {
    name: 'admin-tokens',
    path: '/admin/tokens',
    ready: (page) => page.getByText('No API tokens yet').waitFor(),
  },

  {
    name: 'incidents',
    path: '/incidents',
    ready: (page) =>
      page
        .getByRole('table', { name: 'Incidents' })
        .or(page.getByRole('heading', { name: 'Nothing needs anybody' }))
        .first()
        .waitFor(),
  },
  {
    name: 'incident-not-found',
    path: `/incidents/${nowhere}`,
    ready: (page) => page.getByRole('heading', { name: 'There is no such incident' }).waitFor(),
  },
  {
    name: 'findings',
    path: '/findings?ended=false',
    ready: (page) => page.getByRole('heading', { name: /^Findings/ }).waitFor(),
  },
  { name: 'operations', path: '/operations', ready: (page) => table(page, 'Operations') },
  {
    name: 'operations-no-match',
    path: '/operations?q=nothing-is-called-so',
    ready: (page) => page.getByText('No operation matches these filters.').waitFor(),
  },
  {
    name: 'operation-waiting',
    path: '/operations?status=open',
    async ready(page, { waiting }) {
      await page
        .getByRole('row', { name: new RegExp(waiting.name) })
        .getByRole('link')
        .first()
        .click()
      await page
        .getByRole('list', { name: /^Create cluster/ })
        .locator('[aria-current="step"]')
        .first()
        .waitFor()
    },
  },
  {
    name: 'operation-not-found',
    path: `/operations/${nowhere}`,
    ready: (page) => page.getByText('There is no such operation').waitFor(),
  },
  { name: 'history', path: '/history', ready: (page) => table(page, 'History entries') },
  {
    name: 'history-no-match',
    path: '/history?q=nothing-is-called-so',
    ready: (page) => page.getByText('No history entry matches these filters.').waitFor(),
  },
  {
    name: 'history-entry-open',
    path: '/history?kind=operation_requested',
    async ready(page) {
      await press(page, /^Details of /)
      await page.getByText('After', { exact: true }).waitFor()
    },
  },
  { name: 'audit', path: '/audit', ready: (page) => table(page, 'Entries') },
  {
    name: 'audit-no-match',
    path: '/audit?q=nothing-is-called-so',
    ready: (page) => page.getByText('No entry matches these filters.').waitFor(),
  },
  {
    name: 'audit-entry-open',
    path: '/audit?action=cluster.created',
    async ready(page) {
      await press(page, /^Details of entry/)
      await page.getByText('Recorded', { exact: true }).waitFor()
    },
  },
  {
    name: 'audit-period',
    path: '/audit',
    async ready(page) {
      await table(page, 'Entries')
      await press(page, 'More actions')
      await page.getByRole('menuitem', { name: 'Choose a period' }).click()
      await dialog(page, 'Choose a period')
    },
  },
  {
    name: 'audit-verify',
    path: '/audit',
    async ready(page) {
      await press(page, 'More actions')
      await page.getByRole('menuitem', { name: 'Verify' }).click()
      await dialog(page, 'Verify the audit log')
      await page.getByRole('dialog').getByRole('button', { name: 'Verify', exact: true }).click()
      await page.getByText(/^The audit log is intact: /).waitFor()
    },
  },
]
