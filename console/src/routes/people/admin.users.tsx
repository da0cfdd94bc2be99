export { UsersPage as Page } from '../../features/people/admin/UsersPage.tsx'
