export { SignIn as Page } from '../features/sign-in/SignIn.tsx'
