export { StoresPage as Page } from '../../features/stores/StoresPage.tsx'
