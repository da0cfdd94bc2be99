export { ApiTokensPage as Page } from '../../features/people/admin/OthersPages.tsx'
