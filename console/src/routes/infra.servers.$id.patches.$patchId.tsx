export { PendingPage as Page } from '../layout/pages.tsx'
