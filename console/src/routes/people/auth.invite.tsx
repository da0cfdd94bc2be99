export { AcceptInvitation as Page } from '../../features/home/AcceptInvitation.tsx'
