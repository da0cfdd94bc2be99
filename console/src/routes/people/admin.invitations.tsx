export { InvitationsPage as Page } from '../../features/people/admin/InvitationsPage.tsx'
