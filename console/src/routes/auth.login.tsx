export { SignIn as Page } from '../features/home/SignIn.tsx'
