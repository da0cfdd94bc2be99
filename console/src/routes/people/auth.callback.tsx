export { ProviderReturn as Page } from '../../features/home/ProviderReturn.tsx'
