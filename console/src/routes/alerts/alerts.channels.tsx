export { ChannelsPage as Page } from '../../features/alerts/ChannelsPage.tsx'
