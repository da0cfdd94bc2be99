export { RulesPage as Page } from '../../features/alerts/RulesPage.tsx'
