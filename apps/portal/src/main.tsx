import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { readAddress } from './address.js';
import { App } from './app.js';
import { Session } from './session/session.js';
import './styles.css';

const base = import.meta.env.BASE_URL;
const address = readAddress(base, location.pathname, location.search);
// the client session is gone from the address and the history before anything is asked or shown
history.replaceState(null, '', address.shown);

const session = new Session(location.origin, Date.now);
const clientSession = 'clientSession' in address ? address.clientSession : '';
const open = clientSession ? () => session.open(clientSession) : undefined;

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
createRoot(root).render(
  <StrictMode>
    <App address={address} session={session} open={open} />
  </StrictMode>,
);
