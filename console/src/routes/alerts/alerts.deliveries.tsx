export { DeliveriesPage as Page } from '../../features/alerts/DeliveriesPage.tsx'
