export { BackupsPage as Page } from '../../features/stores/BackupsPage.tsx'
