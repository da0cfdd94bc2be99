export { SilencesPage as Page } from '../../features/alerts/SilencesPage.tsx'
