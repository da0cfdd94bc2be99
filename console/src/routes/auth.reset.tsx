export { SetPassword as Page } from '../features/home/SetPassword.tsx'
