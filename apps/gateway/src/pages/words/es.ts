import type { Words } from './en.js';

export const es: Words = {
  connect: 'Conectar una plataforma de automatización',
  connectWho: 'La plataforma de {host} solicita conectarse con la cuenta del comercio {merchant}. Podrá',
  connectEndpoints: 'registrar sus propios endpoints de webhook, consultarlos y eliminarlos,',
  connectEvents:
    'recibir los eventos que elija para ellos, con todos los datos de los clientes, facturas y pagos afectados, ' +
    'y leer los recientes como ejemplos.',
  connectNoMore: 'No puede cambiar nada más. La conexión se puede terminar en cualquier momento.',
  allow: 'Permitir',
  deny: 'No permitir',
  refused: 'No se puede conectar',
  refusedStale: 'Este enlace ya no es válido. Solicite uno nuevo donde lo encontró.',
  refusedElsewhere: 'La dirección de retorno no es aquella para la que se creó este enlace.',
  code: 'Copiar el código',
  codeUse: 'Introduzca este código en la plataforma. Es válido durante cinco minutos.',
  notConnected: 'Sin conexión',
  notConnectedDenied: 'No se permitió la conexión.',
  notConnectedNoCode: 'No se recibió ningún código. Empiece de nuevo en la plataforma.',
  payment: 'Confirmar el pago',
  paymentAsked:
    'La pasarela de pruebas pregunta, en lugar de un banco: ¿se pueden cobrar {amount}? No se mueve dinero.',
  approve: 'Aprobar',
  decline: 'Rechazar',
  approved: 'El pago está aprobado. Puede cerrar esta página.',
  declined: 'El pago está rechazado. Puede cerrar esta página.',
  unknownPayment: 'En este enlace no hay ningún pago que confirmar.',
};
