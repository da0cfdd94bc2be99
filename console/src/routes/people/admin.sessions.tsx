export { SessionsPage as Page } from '../../features/people/admin/OthersPages.tsx'
