import { type BrowserContext, chromium, type Page, type Request } from 'playwright-core';
import { obtain } from '../local/binaries.js';
import type { Home } from '../local/home.js';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  // a click right after the page has scrolled goes to where a frame of another process was before
  '--disable-site-isolation-trials',
] as const;
const stepWithinMs = 30_000;

export interface Look {
  width?: number;
  scheme?: 'light' | 'dark';
  locale?: string;
}

/** A page with what it asked for and complained about. */
export interface Visit {
  page: Page;
  /** Every URL asked for, in order. */
  urls: string[];
  /** Bodies sent, each with its URL. */
  bodies: string[];
  /** Errors of scripts and of the content security policy. */
  complaints: string[];
}

/** Requests of a page's own frame that are under way, and when the last one began or ended. */
interface Traffic {
  open: Set<Request>;
  lastAt: number;
}
const traffic = new WeakMap<Page, Traffic>();

function trafficOf(page: Page): Traffic {
  const now: Traffic = { open: new Set(), lastAt: Date.now() };
  // a request that navigates has no frame yet
  const isOwn = (request: Request) => !request.isNavigationRequest() && request.frame() === page.mainFrame();
  const note = (change: (request: Request) => void) => (request: Request) => {
    if (!isOwn(request)) return;
    change(request);
    now.lastAt = Date.now();
  };
  const end = note(request => now.open.delete(request));
  page.on(
    'request',
    note(request => now.open.add(request)),
  );
  page.on('requestfinished', end);
  page.on('requestfailed', end);
  return now;
}

/**
 * True once a page of a visit has asked nothing for half a second, its frames aside. The state `networkidle` never comes
 * again where a frame is added to a page that was idle before.
 */
export function isQuiet(page: Page): boolean {
  const seen = traffic.get(page);
  if (!seen) throw new Error('no visit opened this page');
  const { open, lastAt } = seen;
  return open.size === 0 && Date.now() - lastAt > 500;
}

/**
 * Chromium without a window; each visit has a profile of its own, which `prepare` is given first. `onToken` is told every
 * bearer token that is sent.
 */
export async function startBrowser(
  home: Home,
  onToken: (token: string) => void = () => undefined,
  prepare: (context: BrowserContext) => Promise<void> = async () => undefined,
) {
  const { chromium: executablePath } = obtain(home, ['chromium'], () => undefined);
  const browser = await chromium.launch({ executablePath, args: [...flags] });
  const open = new Set<BrowserContext>();
  return {
    async open(url: string, { width = 1280, scheme = 'light', locale = 'en-US' }: Look = {}): Promise<Visit> {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, locale });
      open.add(context);
      context.setDefaultTimeout(stepWithinMs);
      await prepare(context);
      const page = await context.newPage();
      const visit: Visit = { page, urls: [], bodies: [], complaints: [] };
      traffic.set(page, trafficOf(page));
      context.on('request', request => {
        visit.urls.push(request.url());
        const body = request.postData();
        if (body) visit.bodies.push(`${request.url()} ${body}`);
        const bearer = request.headers().authorization;
        if (bearer) onToken(bearer.replace('Bearer ', ''));
      });
      page.on('pageerror', error => visit.complaints.push(error.message));
      page.on('console', message => {
        if (/Content Security Policy|Uncaught/.test(message.text())) visit.complaints.push(message.text());
      });
      await page.goto(url);
      return visit;
    },
    /** Closes the pages of all visits. */
    async leave(): Promise<void> {
      await Promise.all([...open].map(context => context.close()));
      open.clear();
    },
    close: () => browser.close(),
  };
}
export type Browser = Awaited<ReturnType<typeof startBrowser>>;
