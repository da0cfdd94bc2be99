export { WaitlistPage as Page } from '../../features/people/admin/WaitlistPage.tsx'
